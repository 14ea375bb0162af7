"""What a thing is called: names and aliases in a request, whether a word is meant as a name, ids and addresses."""
