import type { ManagementRole } from '@gatehouse/client'
import { Button, Group, Stack, Text, TextInput, Title } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { Link } from '@tanstack/react-router'
import { useAction, usePages, useRead } from '../../api/queries.ts'
import { useMay } from '../../api/session.tsx'
import { useKeptState } from '../../forms/kept-state.ts'
import { Act } from '../../parts/changes/act.tsx'
import { Refusal } from '../../parts/changes/refusal.tsx'
import { Page } from '../../parts/page.tsx'
import { Answer } from '../../parts/states.tsx'
import { List } from '../../parts/table.tsx'
import { Masked } from '../../parts/values/masked.tsx'
import { State, Time, Words } from '../../parts/values/values.tsx'
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
        {({ items }) => items.map((role) => <RoleMembers key={role.role} role={role} />)}
      </Answer>
    </Page>
  )
}

interface RoleMembersProps {
  readonly role: ManagementRole
}

function RoleMembers({ role: managementRole }: RoleMembersProps) {
  const { role, scopes, granted_scopes: granted, default_scopes: defaults } = managementRole
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
        <ChangeScopes role={managementRole} />
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
