import type { OAuthClient } from '@gatehouse/client'
import { Alert, Group, List, Stack, Text, Title } from '@mantine/core'
import { Facts, Id, State, Time, Words } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { LastUse, shortGrant } from './clients.tsx'
import { risksOf } from './registration.ts'
import { ScopeMeanings } from './scopes.tsx'

/** How a client is registered, what its scopes mean, and what is risky about it. */
export function ClientSettings({ client }: { client: OAuthClient }) {
  const t = useTexts()
  return (
    <Stack>
      <Risks client={client} />
      <section className="panel" aria-label={t.clients.tabs.settings}>
        <ClientFacts client={client} />
      </section>
      <section className="panel" aria-label={t.clients.scopes}>
        <Title order={2} size="h4" mb="sm">
          {t.clients.scopes}
        </Title>
        <ScopeMeanings scopes={client.scopes ?? []} />
      </section>
    </Stack>
  )
}

function Risks({ client }: { client: OAuthClient }) {
  const t = useTexts()
  const risks = risksOf(client)
  if (risks.length === 0) return null
  return (
    <Alert color="yellow" title={t.clients.risky}>
      <List size="sm" spacing={4}>
        {risks.map((risk) => (
          <List.Item key={risk}>{t.clients.risks[risk]}</List.Item>
        ))}
      </List>
    </Alert>
  )
}

function ClientFacts({ client }: { client: OAuthClient }) {
  const t = useTexts()
  const yesNo = (value: boolean | undefined) => (value ? t.common.yes : t.common.no)
  const words = (values: readonly string[] | undefined) => (values?.length ? <Words values={values} /> : undefined)
  const seconds = (value: number | undefined) => (value === undefined ? undefined : t.clients.minutes(value / 60))
  return (
    <Facts
      facts={[
        [t.users.id, <Id key="id" value={client.client_id} />],
        [t.clients.method, client.token_endpoint_auth_method ?? t.clients.anyMethod],
        [t.clients.lastUsed, <LastUse key="used" at={client.last_used_at} />],
        [t.clients.oldSecret, client.previous_secret_expires_at && <OldSecret key="old" client={client} />],
        [t.clients.grants, words(client.grant_types?.map(shortGrant))],
        [t.clients.redirects, words(client.redirect_uris)],
        [t.clients.afterLogout, words(client.post_logout_redirect_uris)],
        [t.clients.origins, words(client.allowed_origins)],
        [t.clients.logout, client.backchannel_logout_uri],
        [t.clients.plan, client.plan],
        [t.clients.policy, client.policy],
        [t.clients.pkce, yesNo(client.require_pkce !== false)],
        [t.clients.par, yesNo(client.require_pushed_authorization_requests)],
        [t.clients.consent, yesNo(client.skip_consent === true || client.first_party === true)],
        [t.clients.introspect, client.may_introspect ? t.common.yes : undefined],
        [t.clients.accessToken, seconds(client.access_token_lifetime_seconds)],
        [t.users.created, <Time key="created" at={client.created_at} />],
        [t.users.updated, <Time key="updated" at={client.updated_at} />],
      ]}
    />
  )
}

function OldSecret({ client }: { client: OAuthClient }) {
  const t = useTexts()
  return (
    <Group gap={6}>
      <State tone="careful">{t.clients.twoSecrets}</State>
      <Text size="sm" span>
        <Time at={client.previous_secret_expires_at} />
      </Text>
    </Group>
  )
}
