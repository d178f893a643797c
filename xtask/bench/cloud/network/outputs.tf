output "id" {
  value = testing_network_vpc.this.id
}

output "arn" {
  value = testing_network_vpc.this.arn
}

output "subnets" {
  description = "Ids of subnets by tier."
  value = {
    for tier in keys(var.tiers) :
    tier => [for key, subnet in local.subnets : testing_network_subnet.this[key].id if subnet.tier == tier]
  }
}

output "security_groups" {
  value = { for key, group in testing_network_group.this : key => group.id }
}

output "public_gateway" {
  value = try(testing_network_gateway.public[0].id, null)
}
