"""What may be read when, and how events arrive one by one."""
