"""The page in the browser: `poscount serve`, and the same as a JSON API.

What is asked of the library runs in worker processes that can be stopped; the server itself only
takes files in, keeps sessions apart and hands results out. No statistics live here.
"""
