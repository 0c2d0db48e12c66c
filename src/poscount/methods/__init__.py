"""All methods, one file each: along one score here, by regions and PU methods below."""
