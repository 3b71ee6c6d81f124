import type { ManagementRole } from '@gatehouse/client'
import { Button, Group, Stack, Text, TextInput, Title } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { Link } from '@tanstack/react-router'
import { useAction, usePages, useRead } from '../../api/queries.ts'
import { useMay } from '../../api/session.tsx'
import { useKeptState } from '../../forms/kept-state.ts'
import { Act } from '../../parts/act.tsx'
import { Masked } from '../../parts/masked.tsx'
import { Page } from '../../parts/page.tsx'
import { Refusal } from '../../parts/refusal.tsx'
import { Answer } from '../../parts/states.tsx'
import { List } from '../../parts/table.tsx'
import { State, Time, Words } from '../../parts/values.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { LockState } from '../people/lock-state.tsx'
import { ChangeScopes } from './role-scopes.tsx'

/** Who holds which management role. */
export function AdministratorsScreen() {
  const t = useTexts()
  const query = useRead('listRoles')
  return (
    <Page title={t.sections.administrators} lead={t.administrators.lead}>
      <Answer action="listRoles" query={query}>
        {({ items }) => {
          const known = scopesOf(items)
          return items.map((role) => <RoleMembers key={role.role} role={role} known={known} />)
        }}
      </Answer>
    </Page>
  )
}

/** Scopes that no other role can have. */
const ownersScopes: readonly string[] = ['admin:roles', 'admin:connections']

/** Every scope that a role can have: those of the owners, and what these include. */
function scopesOf(roles: readonly ManagementRole[]): readonly string[] {
  const all = new Set(roles.flatMap(({ scopes, default_scopes: defaults }) => [...scopes, ...defaults]))
  return [...all].filter((scope) => !ownersScopes.includes(scope)).sort()
}

interface RoleMembersProps {
  readonly role: ManagementRole
  readonly known: readonly string[]
}

function RoleMembers({
  role: { role, scopes, granted_scopes: granted, default_scopes: defaults },
  known,
}: RoleMembersProps) {
  const t = useTexts()
  const may = useMay()
  const query = usePages('listMembers', { role })
  return (
    <Stack component="section" className="panel" aria-label={role}>
      <Group justify="space-between">
        <Group gap="sm">
          <Title order={2}>{role}</Title>
          {granted.join() !== defaults.join() && <State tone="careful">{t.administrators.isChanged}</State>}
        </Group>
        <ChangeScopes role={role} known={known} />
      </Group>
      <details>
        <summary>{t.administrators.scopes}</summary>
        <Words values={scopes} />
      </details>
      <List
        action="listMembers"
        query={query}
        label={role}
        keyOf={(member) => member.user_id}
        empty={<Text c="dimmed">{t.administrators.nobody}</Text>}
        columns={[
          {
            label: t.administrators.user,
            render: ({ user_id: id }) => (
              <Link to="/users/$id" params={{ id }}>
                {id}
              </Link>
            ),
          },
          { label: t.users.username, render: ({ username }) => <Masked>{username}</Masked> },
          { label: t.users.state, render: ({ locked }) => <LockState locked={locked} /> },
          {
            label: t.users.lastSignIn,
            render: ({ last_sign_in_at: at }) => (at === undefined ? t.common.never : <Time at={at} />),
          },
          {
            label: t.common.actions,
            isAction: true,
            render: ({ user_id: id }) => (
              <Act
                action="revokeRole"
                input={{ role, user_id: id }}
                label={t.administrators.revoke}
                about={`${role} ${id}`}
                text={t.administrators.revokeText(id, role)}
                word={id}
                done={t.administrators.revoked}
              />
            ),
          },
        ]}
      />
      {may('grantRole') && <Grant role={role} />}
    </Stack>
  )
}

function Grant({ role }: { role: string }) {
  const t = useTexts()
  const [{ user }, write] = useKeptState(`grant of ${role}`, { user: '' })
  const mutation = useAction('grantRole')
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        mutation.mutate(
          { role, user_id: user.trim() },
          {
            onSuccess: () => {
              write({ user: '' })
              notifications.show({ message: t.administrators.granted, color: 'green' })
            },
          },
        )
      }}
    >
      <Group align="flex-end" gap="xs">
        <TextInput
          label={t.administrators.user}
          value={user}
          onChange={(event) => write({ user: event.currentTarget.value })}
          required
          className="grow"
        />
        <Button
          type="submit"
          variant="default"
          loading={mutation.isPending}
          aria-label={`${t.administrators.grant}: ${role}`}
        >
          {t.administrators.grant}
        </Button>
      </Group>
      <Refusal error={mutation.error} />
    </form>
  )
}
