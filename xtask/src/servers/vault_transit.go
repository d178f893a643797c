// Command vault-transit serves the core of Vault with the transit secrets engine alone, in memory, for tests.
//
// Usage: vault-transit ADDRESS TOKEN
//
// The core starts initialized and unsealed. TOKEN is a root token. Nothing is mounted: mount "transit" by the API.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/vault/builtin/logical/transit"
	"github.com/hashicorp/vault/command/server"
	"github.com/hashicorp/vault/helper/namespace"
	vaulthttp "github.com/hashicorp/vault/http"
	"github.com/hashicorp/vault/internalshared/configutil"
	"github.com/hashicorp/vault/sdk/helper/consts"
	"github.com/hashicorp/vault/sdk/logical"
	"github.com/hashicorp/vault/sdk/physical/inmem"
	"github.com/hashicorp/vault/vault"
)

// transitOnly is a registry of builtin plugins that contains the transit engine alone.
type transitOnly struct{}

func (transitOnly) Contains(name string, kind consts.PluginType) bool {
	return name == "transit" && kind == consts.PluginTypeSecrets
}

func (r transitOnly) Get(name string, kind consts.PluginType) (func() (interface{}, error), bool) {
	factory := func() (interface{}, error) { return logical.Factory(transit.Factory), nil }
	return factory, r.Contains(name, kind)
}

func (transitOnly) Keys(kind consts.PluginType) []string {
	if kind == consts.PluginTypeSecrets {
		return []string{"transit"}
	}
	return nil
}

func (r transitOnly) DeprecationStatus(name string, kind consts.PluginType) (consts.DeprecationStatus, bool) {
	return consts.Supported, r.Contains(name, kind)
}

func (transitOnly) IsBuiltinEntPlugin(string, consts.PluginType) bool { return false }

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: vault-transit ADDRESS TOKEN")
		os.Exit(2)
	}
	if err := serve(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "vault-transit:", err)
		os.Exit(1)
	}
}

func serve(address, token string) error {
	logger := hclog.New(&hclog.LoggerOptions{Name: "vault-transit", Level: hclog.Warn, Output: os.Stderr})
	storage, err := inmem.NewInmem(nil, logger)
	if err != nil {
		return err
	}
	config := &server.Config{SharedConfig: &configutil.SharedConfig{}}
	core, err := vault.NewCore(&vault.CoreConfig{
		Physical:        storage,
		StorageType:     "inmem",
		LogicalBackends: map[string]logical.Factory{"transit": transit.Factory},
		BuiltinRegistry: transitOnly{},
		RawConfig:       config,
		DisableMlock:    true,
		Logger:          logger,
	})
	if err != nil {
		return err
	}
	if err := unseal(core, token); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	properties := &vault.HandlerProperties{Core: core, ListenerConfig: &configutil.Listener{}}
	return http.Serve(listener, vaulthttp.Handler.Handler(properties))
}

// unseal initializes the core with one key, unseals it and creates the root token.
func unseal(core *vault.Core, token string) error {
	ctx := namespace.RootContext(context.Background())
	result, err := core.Initialize(ctx, &vault.InitParams{
		BarrierConfig:  &vault.SealConfig{SecretShares: 1, SecretThreshold: 1},
		RecoveryConfig: nil,
	})
	if err != nil {
		return err
	}
	if _, err := core.Unseal(result.SecretShares[0]); err != nil {
		return err
	}
	response, err := core.HandleRequest(ctx, &logical.Request{
		Operation:   logical.UpdateOperation,
		ClientToken: result.RootToken,
		Path:        "auth/token/create",
		Data:        map[string]interface{}{"id": token, "policies": []string{"root"}, "no_parent": true},
	})
	if err != nil {
		return err
	}
	return response.Error()
}
