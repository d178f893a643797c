# A Kubernetes cluster: roles and policies, a key, logs, the control plane, node groups and add-ons.

terraform {
  required_providers {
    testing = {
      source = "yuba/testing"
    }
  }
}

locals {
  tags     = merge(var.tags, { Cluster = var.name })
  policies = toset(["cluster", "resources", "worker", "network", "registry", "storage"])
  group_policies = {
    for pair in setproduct(keys(var.node_groups), local.policies) : "${pair[0]}-${pair[1]}" => { group = pair[0], policy = pair[1] }
  }
}

data "testing_data" "account" {
  input = "account-of-${var.name}"
}

resource "testing_encryption_key" "this" {
  name = "${var.name}-secrets"
  document = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "kms:*", Principal = data.testing_data.account.output }]
  })
  tags = local.tags
}

resource "testing_encryption_alias" "this" {
  name   = "alias/${var.name}"
  parent = testing_encryption_key.this.id
}

resource "testing_logging_group" "this" {
  name = "/clusters/${var.name}"
  size = var.retention
  tags = local.tags

  settings {
    mode = "encrypted"
    target {
      name   = testing_encryption_key.this.arn
      events = ["audit", "api", "authenticator"]
    }
  }
}

resource "testing_identity_role" "cluster" {
  name     = "${var.name}-cluster"
  document = jsonencode({ Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "clusters" } }] })
  tags     = local.tags
}

resource "testing_identity_attachment" "cluster" {
  for_each = toset(["cluster", "resources"])

  name    = "${var.name}-${each.key}"
  parent  = testing_identity_role.cluster.id
  members = ["policy/${each.key}"]
}

resource "testing_network_group" "nodes" {
  name   = "${var.name}-nodes"
  parent = var.network
  tags   = local.tags
}

resource "testing_network_rule" "nodes" {
  for_each = var.node_rules

  name        = "${var.name}-${each.key}"
  description = each.value.description
  parent      = testing_network_group.nodes.id

  rule {
    from_port = each.value.port
    to_port   = coalesce(each.value.to_port, each.value.port)
    protocol  = each.value.protocol
  }
}

resource "testing_cluster_cluster" "this" {
  name        = var.name
  description = "Kubernetes ${var.kubernetes_version}"
  parent      = testing_identity_role.cluster.arn
  members     = var.subnets
  tags        = local.tags

  settings {
    mode    = "private"
    minimum = 2
    labels  = { version = var.kubernetes_version }

    target {
      name   = testing_logging_group.this.arn
      events = ["audit", "api"]
    }
    target {
      name = testing_encryption_key.this.arn
    }
  }

  timeouts {
    create = "30m"
    update = "60m"
  }

  depends_on = [testing_identity_attachment.cluster, testing_network_rule.nodes]
}

resource "testing_identity_role" "group" {
  for_each = var.node_groups

  name     = "${var.name}-${each.key}"
  document = jsonencode({ Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "compute" } }] })
  tags     = local.tags
}

resource "testing_identity_attachment" "group" {
  for_each = local.group_policies

  name    = "${var.name}-${each.key}"
  parent  = testing_identity_role.group[each.value.group].id
  members = ["policy/${each.value.policy}"]
}

resource "testing_compute_template" "group" {
  for_each = var.node_groups

  name     = "${var.name}-${each.key}"
  document = base64encode(join("\n", [for key, value in merge({ cluster = var.name }, each.value.labels) : "${key}=${value}"]))
  members  = [testing_network_group.nodes.id]
  tags     = merge(local.tags, each.value.labels)
}

resource "testing_cluster_node_group" "this" {
  for_each = var.node_groups

  name    = "${var.name}-${each.key}"
  parent  = testing_cluster_cluster.this.id
  members = var.subnets
  size    = each.value.desired
  tags    = merge(local.tags, each.value.labels)

  settings {
    mode    = each.value.spot ? "spot" : "on-demand"
    minimum = each.value.minimum
    maximum = each.value.maximum
    labels  = each.value.labels

    target {
      name = testing_compute_template.group[each.key].id
    }
  }

  depends_on = [testing_identity_attachment.group]

  lifecycle {
    create_before_destroy = true
    ignore_changes        = [size]
  }
}

resource "testing_cluster_addon" "this" {
  for_each = toset(var.addons)

  name   = "${var.name}-${each.key}"
  parent = testing_cluster_cluster.this.id
  tags   = local.tags

  depends_on = [testing_cluster_node_group.this]
}

resource "testing_identity_role" "service_account" {
  for_each = var.service_accounts

  name = "${var.name}-${each.key}"
  document = jsonencode({
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRoleWithWebIdentity"
      Principal = testing_cluster_cluster.this.arn
      Condition = { StringEquals = { subject = "system:serviceaccount:${each.value.namespace}:${each.key}" } }
    }]
  })
  tags = local.tags
}

resource "testing_identity_policy" "service_account" {
  for_each = var.service_accounts

  name     = "${var.name}-${each.key}"
  document = jsonencode({ Statement = [for action in each.value.actions : { Effect = "Allow", Action = action, Resource = "*" }] })
  tags     = local.tags
}

resource "testing_identity_attachment" "service_account" {
  for_each = var.service_accounts

  name    = "${var.name}-${each.key}-own"
  parent  = testing_identity_role.service_account[each.key].id
  members = [testing_identity_policy.service_account[each.key].id]
}
