symbols "network" {
  source = "./network"
}

variable "subnets" {
  type = map(symbols::network::subnet())
  default = {
    web = { number = 1 }
    db  = { number = 2, size = "large", tags = { backup = "daily" } }
  }
}

output "subnets" {
  value = {
    for name, subnet in var.subnets : name => {
      cidr = symbols::network::cidr(subnet)
      tags = symbols::network::tags(name, subnet.tags, { managed = true })
    }
  }
}

output "base" {
  value = symbols.network.base
}
