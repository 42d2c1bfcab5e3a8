package pglocal

// Complaint is why one of PostgreSQL's programs ended, of what it said.
var Complaint = lastError
