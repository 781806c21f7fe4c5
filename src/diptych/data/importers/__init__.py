"""Importers: from files people have to a dataset's folder."""
