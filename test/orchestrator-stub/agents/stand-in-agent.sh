#!/bin/sh
# Stands in for one of EMF's agents: takes the files of the hand-over, and nothing else, gets a token and calls the orchestrator.
# stand-in-agent.sh ROOT: ROOT is the installed system's /.
set -eu
root=$1
node=$root/etc/intel_edge_node

# 1. Who this node is, and where its orchestrator is. Agents get the variables from systemd (EnvironmentFile=).
. "$root/etc/edge-node/node/agent_variables"
. "$node/tenantId"
client_id=$(cat "$node/client-credentials/client_id")
client_secret=$(cat "$node/client-credentials/client_secret")
ca=$node/orch-ca-cert/orch-ca.crt
[ -s "$ca" ] # curl would fall back on nothing, but a missing file should say so here

# 2. A token
answer=$(curl -fsS --cacert "$ca" --data-urlencode grant_type=client_credentials --data-urlencode "client_id=$client_id" \
  --data-urlencode "client_secret=$client_secret" "https://$KEYCLOAK_FQDN/realms/master/protocol/openid-connect/token")
token=$(printf '%s' "$answer" | sed -n 's/.*"access_token":"\([^"]*\)".*/\1/p')
[ -n "$token" ]

# 3. It is a token of this node's tenant
claims=$(printf '%s' "$token" | cut -d . -f 2 | tr '_-' '/+')
while [ $((${#claims} % 4)) -ne 0 ]; do claims=$claims=; done
printf '%s' "$claims" | base64 -d | grep -q "${TENANT_ID}_en-agent-rw"

# 4. A call with it: the token of the release service, which this orchestrator gives to its nodes only
curl -fsS --cacert "$ca" -H "Authorization: Bearer $token" "https://$RELEASE_FQDN/token"
