"""A core that sheds, and the policies that plan for it."""
