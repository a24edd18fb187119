// Empty: host.h has what Rodinia's host code names.
