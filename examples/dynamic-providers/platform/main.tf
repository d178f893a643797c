# Another project, whose state contains the regions.

variable "regions" {
  type    = set(string)
  default = ["east", "west"]
}

variable "retired" {
  description = "Regions to remove: no objects are created there, and existing objects are destroyed."
  type        = set(string)
  default     = []
}

output "regions" {
  value = var.regions
}

output "regions_in_use" {
  value = setsubtract(var.regions, var.retired)
}
