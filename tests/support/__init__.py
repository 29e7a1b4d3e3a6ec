"""What tests share: servers, databases, documents, and a room per folder of tests."""
