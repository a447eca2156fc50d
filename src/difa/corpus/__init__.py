"""What users give beside new text: normal documents and copies among them, verdicts, allowed words."""
