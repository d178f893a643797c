output "arn" {
  value = testing_cluster_cluster.this.arn
}

output "node_groups" {
  value = { for key, group in testing_cluster_node_group.this : key => { id = group.id, role = testing_identity_role.group[key].arn } }
}

output "roles" {
  value = { for key, role in testing_identity_role.service_account : key => role.arn }
}
