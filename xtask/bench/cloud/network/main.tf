# A virtual network: subnets in tiers and zones, routes, gateways, security groups and endpoints.

terraform {
  required_providers {
    testing = {
      source = "yuba/testing"
    }
  }
}

locals {
  prefix = "${var.name}-${var.environment}"
  tags   = merge(var.tags, { Network = local.prefix, Environment = var.environment })

  subnets = {
    for pair in setproduct(keys(var.tiers), range(length(var.zones))) :
    "${pair[0]}-${var.zones[pair[1]]}" => {
      tier  = pair[0]
      zone  = var.zones[pair[1]]
      range = cidrsubnet(var.range, 8, var.tiers[pair[0]].offset + pair[1])
    }
  }
  public_subnets  = { for key, subnet in local.subnets : key => subnet if var.tiers[subnet.tier].public }
  private_subnets = { for key, subnet in local.subnets : key => subnet if !var.tiers[subnet.tier].public }
  gateways        = var.single_gateway ? 1 : length(var.zones)
}

resource "testing_network_vpc" "this" {
  name   = local.prefix
  range  = var.range
  active = true
  tags   = merge(local.tags, { Name = local.prefix })

  settings {
    mode   = "default"
    labels = { hostnames = "true", support = "true" }
  }
}

resource "testing_network_subnet" "this" {
  for_each = local.subnets

  name   = "${local.prefix}-${each.key}"
  parent = testing_network_vpc.this.id
  range  = each.value.range
  tags   = merge(local.tags, { Name = "${local.prefix}-${each.key}", Tier = each.value.tier })

  timeouts {
    create = "10m"
    delete = "20m"
  }
}

resource "testing_network_gateway" "public" {
  count = length(local.public_subnets) > 0 ? 1 : 0

  name   = "${local.prefix}-public"
  parent = testing_network_vpc.this.id
  tags   = local.tags
}

resource "testing_network_address" "outgoing" {
  count = local.gateways

  name = "${local.prefix}-outgoing-${count.index}"
  tags = local.tags

  depends_on = [testing_network_gateway.public]
}

resource "testing_gateway_gateway" "outgoing" {
  count = local.gateways

  name    = "${local.prefix}-outgoing-${count.index}"
  parent  = values({ for key, subnet in local.public_subnets : key => testing_network_subnet.this[key].id })[count.index]
  members = [testing_network_address.outgoing[count.index].id]
  tags    = local.tags
}

resource "testing_network_route_table" "public" {
  name   = "${local.prefix}-public"
  parent = testing_network_vpc.this.id
  tags   = local.tags
}

resource "testing_network_route_table" "private" {
  count = local.gateways

  name   = "${local.prefix}-private-${count.index}"
  parent = testing_network_vpc.this.id
  tags   = local.tags
}

resource "testing_network_route" "public" {
  name    = "${local.prefix}-public"
  parent  = testing_network_route_table.public.id
  range   = "0.0.0.0/0"
  members = testing_network_gateway.public[*].id
}

resource "testing_network_route" "private" {
  count = local.gateways

  name    = "${local.prefix}-private-${count.index}"
  parent  = testing_network_route_table.private[count.index].id
  range   = "0.0.0.0/0"
  members = [testing_gateway_gateway.outgoing[count.index].id]
}

resource "testing_network_association" "this" {
  for_each = local.subnets

  name   = "${local.prefix}-${each.key}"
  parent = testing_network_subnet.this[each.key].id
  members = [
    var.tiers[each.value.tier].public
    ? testing_network_route_table.public.id
    : testing_network_route_table.private[index(var.zones, each.value.zone) % local.gateways].id
  ]
}

resource "testing_network_group" "this" {
  for_each = var.security_groups

  name        = "${local.prefix}-${each.key}"
  description = each.value.description
  parent      = testing_network_vpc.this.id
  tags        = local.tags

  dynamic "rule" {
    for_each = each.value.rules
    content {
      from_port   = rule.value.port
      to_port     = coalesce(rule.value.to_port, rule.value.port)
      protocol    = rule.value.protocol
      ranges      = coalescelist(rule.value.ranges, [var.range])
      description = "${each.key} ${rule.key}"

      dynamic "condition" {
        for_each = rule.value.conditions
        content {
          test   = condition.key
          values = condition.value
        }
      }
    }
  }

  lifecycle {
    create_before_destroy = true
  }
}

resource "testing_network_endpoint" "this" {
  for_each = toset(var.endpoints)

  name    = "${local.prefix}-${each.key}"
  parent  = testing_network_vpc.this.id
  members = [for key in keys(local.private_subnets) : testing_network_subnet.this[key].id]
  document = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "${each.key}:*", Resource = "*", Principal = "*" }]
  })
  tags = local.tags
}
