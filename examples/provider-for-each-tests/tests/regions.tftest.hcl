# The example of the design: a region is added, disabled and removed. Run it with "yuba test".

mock_provider "terraform" {
  alias    = "by_region"
  for_each = var.regions

  mock_resource "terraform_data" {
    defaults = {
      output = "made by a mock"
    }
  }
}

run "initial_create" {
  variables {
    regions = {
      faked-region-a = {}
      faked-region-b = {}
    }
  }

  assert {
    condition     = output.regions == ["faked-region-a", "faked-region-b"]
    error_message = "Both regions must have an object."
  }
}

run "disable_b" {
  variables {
    regions = {
      faked-region-a = {}
      faked-region-b = {
        # The provider of the region has to outlive its objects by one apply.
        enabled = false
      }
    }
  }

  assert {
    condition     = output.regions == ["faked-region-a"]
    error_message = "The object of the disabled region must be gone."
  }
}

run "remove_b" {
  variables {
    regions = {
      faked-region-a = {}
    }
  }

  assert {
    condition     = output.regions == run.disable_b.regions
    error_message = "Nothing else must change when the region is removed."
  }
}
