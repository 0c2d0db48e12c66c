"""What all quantifiers share: taking data in, counting, and making answers of estimates."""
