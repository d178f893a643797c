# Another project, whose state contains the regions.

variable "regions" {
  type    = set(string)
  default = ["east", "west"]
}

variable "retired" {
  description = "Regions that are on their way out: nothing new there, but what exists has to be destroyed."
  type        = set(string)
  default     = []
}

output "regions" {
  value = var.regions
}

output "regions_in_use" {
  value = setsubtract(var.regions, var.retired)
}
