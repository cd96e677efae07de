"""What pages say: links, terms, citations, examples and the commands of guides, compared with the code."""
