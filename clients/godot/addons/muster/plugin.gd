tool
extends EditorPlugin

## Adds the autoload Muster, a MusterClient for all scenes.

const _NAME = "Muster"


func enable_plugin():
	add_autoload_singleton(_NAME, "res://addons/muster/muster_client.gd")


func disable_plugin():
	remove_autoload_singleton(_NAME)
