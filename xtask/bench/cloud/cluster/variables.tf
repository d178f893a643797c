variable "name" {
  type = string
}

variable "kubernetes_version" {
  type    = string
  default = "1.34"

  validation {
    condition     = can(regex("^1\\.[0-9]+$", var.kubernetes_version))
    error_message = "The version must be like 1.34."
  }
}

variable "network" {
  type = string
}

variable "subnets" {
  type = list(string)
}

variable "retention" {
  type    = number
  default = 90
}

variable "node_groups" {
  type = map(object({
    minimum = optional(number, 1)
    desired = optional(number, 2)
    maximum = optional(number, 10)
    spot    = optional(bool, false)
    labels  = optional(map(string), {})
  }))
}

variable "node_rules" {
  type = map(object({
    description = optional(string, "Between nodes.")
    port        = number
    to_port     = optional(number)
    protocol    = optional(string, "tcp")
  }))
  default = {
    api     = { port = 443 }
    kubelet = { port = 10250 }
    dns     = { port = 53 }
    dns_udp = { port = 53, protocol = "udp" }
    all     = { port = 1025, to_port = 65535 }
  }
}

variable "addons" {
  type    = list(string)
  default = ["dns", "proxy", "network", "storage", "identity"]
}

variable "service_accounts" {
  type = map(object({
    namespace = optional(string, "kube-system")
    actions   = list(string)
  }))
  default = {}
}

variable "tags" {
  type    = map(string)
  default = {}
}
