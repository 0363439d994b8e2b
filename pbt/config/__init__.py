"""One typed, frozen configuration: the schema of the file, the command line and the API."""
