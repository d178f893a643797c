variable "name" {
  description = "Prefix of all names."
  type        = string
}

variable "environment" {
  type = string

  validation {
    condition     = contains(["production", "staging", "development"], var.environment)
    error_message = "The environment must be production, staging or development."
  }
}

variable "range" {
  type = string

  validation {
    condition     = can(cidrnetmask(var.range))
    error_message = "The range must be in CIDR notation."
  }
}

variable "zones" {
  type = list(string)
}

variable "tiers" {
  description = "Tiers of subnets: the offset of their ranges, and whether they are public."
  type = map(object({
    offset = number
    public = optional(bool, false)
  }))
  default = {
    public   = { offset = 0, public = true }
    private  = { offset = 16 }
    database = { offset = 32 }
  }
}

variable "single_gateway" {
  type    = bool
  default = false
}

variable "security_groups" {
  type = map(object({
    description = optional(string, "Managed.")
    rules = optional(map(object({
      port       = number
      to_port    = optional(number)
      protocol   = optional(string, "tcp")
      ranges     = optional(list(string), [])
      conditions = optional(map(list(string)), {})
    })), {})
  }))
  default = {}
}

variable "endpoints" {
  type    = list(string)
  default = []
}

variable "tags" {
  type    = map(string)
  default = {}
}
