import { Stack, Text, Title } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { usePages } from '../../../api/queries.ts'
import { List } from '../../../parts/table.tsx'
import { Time } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { CallerLink } from '../../callers/caller-link.tsx'
import type { LimitKind } from '../declaration.ts'

interface MembersProps {
  readonly kind: LimitKind
  readonly name: string
}

/** Whom a tier or policy limits: by plan, as the policy of a client, and for a while. */
export function Members({ kind, name }: MembersProps) {
  const t = useTexts()
  return (
    <Stack component="section" className="panel" gap="lg" aria-label={t.members.title}>
      <Title order={2} size="h5">
        {t.members.title}
      </Title>
      {kind === 'tiers' && <OfPlan name={name} />}
      <OfClients name={name} />
      <OfOverrides name={name} />
    </Stack>
  )
}

const pageSize = 20

function OfPlan({ name }: { name: string }) {
  const t = useTexts()
  const query = usePages('listTierCallers', { name, limit: pageSize })
  return (
    <div>
      <Text size="sm" fw={600} mb={4}>
        {t.members.byPlan}
      </Text>
      <List
        action="listTierCallers"
        query={query}
        label={t.members.byPlan}
        keyOf={({ kind, id }) => `${kind} ${id}`}
        empty={<None />}
        columns={[
          {
            label: t.callers.caller,
            render: ({ kind, id, key }) => (
              <>
                <CallerLink kind={kind} id={id} />
                {key !== undefined && <div className="dim">{t.members.keyOf(key.name, key.owner)}</div>}
              </>
            ),
          },
          {
            label: t.members.plan,
            render: ({ plan, policy }) => (
              <>
                {plan ?? <span className="dim">{t.members.defaultPlan}</span>}
                {policy !== undefined && <div className="dim">{t.members.butPolicy(policy)}</div>}
              </>
            ),
          },
          {
            label: t.members.account,
            render: ({ kind, id, key }) =>
              key === undefined ? <Account kind={kind} id={id} /> : <KeyLink name={key.name} />,
          },
        ]}
      />
    </div>
  )
}

function KeyLink({ name }: { name: string }) {
  const t = useTexts()
  return (
    <Link to="/api-keys" search={{ q: name }} aria-label={`${t.members.openKey}: ${name}`}>
      {t.members.openKey}
    </Link>
  )
}

function Account({ kind, id }: { kind: string; id: string }) {
  const t = useTexts()
  return kind === 'user' ? (
    <Link to="/users/$id" params={{ id }} aria-label={`${t.members.openUser}: ${id}`}>
      {t.members.openUser}
    </Link>
  ) : (
    <Link to="/clients/$id" params={{ id }} aria-label={`${t.members.openClient}: ${id}`}>
      {t.members.openClient}
    </Link>
  )
}

function OfClients({ name }: { name: string }) {
  const t = useTexts()
  const query = usePages('listClients', { policy: name, limit: pageSize })
  return (
    <div>
      <Text size="sm" fw={600} mb={4}>
        {t.members.byClient}
      </Text>
      <List
        action="listClients"
        query={query}
        label={t.members.byClient}
        keyOf={({ client_id: id }) => id}
        empty={<None />}
        columns={[
          { label: t.callers.caller, render: ({ client_id: id }) => <CallerLink kind="client" id={id} /> },
          { label: t.clients.name, render: ({ client_name: title }) => title },
          { label: t.members.account, render: ({ client_id: id }) => <Account kind="client" id={id} /> },
        ]}
      />
    </div>
  )
}

function OfOverrides({ name }: { name: string }) {
  const t = useTexts()
  const query = usePages('listOverrides', { policy: name, limit: pageSize })
  return (
    <div>
      <Text size="sm" fw={600} mb={4}>
        {t.members.byOverride}
      </Text>
      <List
        action="listOverrides"
        query={query}
        label={t.members.byOverride}
        keyOf={({ kind, id }) => `${kind} ${id}`}
        empty={<None />}
        columns={[
          { label: t.callers.caller, render: (caller) => <CallerLink {...caller} /> },
          { label: t.overrides.until, render: ({ until }) => <Time at={until} /> },
          { label: t.overrides.reason, render: ({ reason }) => reason },
          { label: t.overrides.author, render: ({ author }) => author },
        ]}
      />
    </div>
  )
}

function None() {
  const t = useTexts()
  return (
    <Text size="sm" c="dimmed">
      {t.members.nobody}
    </Text>
  )
}
