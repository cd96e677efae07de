"""The values of a schema registry, their form in JSON, and the header of an encoded event.

Client and server share them, so both import this folder, which imports only the errors.
Source: schema-registry.md A1 to A3.
"""
