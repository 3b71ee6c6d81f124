import type { ProtectedPermission } from '@gatehouse/client'
import { Stack } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { usePages } from '../../../api/queries.ts'
import { useMay } from '../../../api/session.tsx'
import { Act } from '../../../parts/changes/act.tsx'
import { Page } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
import { List } from '../../../parts/table.tsx'
import { State, Words } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'

/** The scopes that only roles of organizations grant, and the way to make one without a role a scope for everybody. */
export function PermissionsScreen() {
  const t = useTexts()
  const query = usePages('listTemplatePermissions')
  return (
    <Page title={t.sections.permissions} lead={t.permissions.lead}>
      <List
        action="listTemplatePermissions"
        query={query}
        label={t.sections.permissions}
        keyOf={({ permission }) => permission}
        empty={<Empty text={t.permissions.empty} />}
        columns={[
          { label: t.permissions.permission, render: (one) => <Permission of={one} /> },
          { label: t.permissions.roles, render: (one) => <Roles of={one} /> },
          { label: t.common.actions, isAction: true, render: (one) => <Release of={one} /> },
        ]}
      />
    </Page>
  )
}

interface PermissionProps {
  readonly of: ProtectedPermission
}

/** The scope, with the clients that may request it: their users get it once it is released. */
function Permission({ of: { permission } }: PermissionProps) {
  const t = useTexts()
  const may = useMay()
  const meanings: Readonly<Record<string, string>> = t.scopes
  return (
    <Stack gap={2}>
      <code>{permission}</code>
      <span className="dim small">{meanings[permission] ?? t.clients.ownScope}</span>
      {may('listClients') && (
        <Link to="/clients" search={{ scope: permission }} className="small">
          {t.permissions.clients}
          <span className="visually-hidden"> {permission}</span>
        </Link>
      )}
    </Stack>
  )
}

function Roles({ of: { roles } }: PermissionProps) {
  const t = useTexts()
  return roles.length > 0 ? <Words values={roles} /> : <State tone="careful">{t.permissions.noRole}</State>
}

/**
 * A permission that a role has is not released: the role loses it first. No request of the console has a slash in a
 * segment of its path, which servers read differently.
 */
function Release({ of: { permission, roles } }: PermissionProps) {
  const t = useTexts()
  if (roles.length > 0) return null
  if (/[/\\]/.test(permission)) return <span className="dim small">{t.permissions.atApi}</span>
  return (
    <Act
      action="releaseTemplatePermission"
      input={{ permission }}
      label={t.permissions.release}
      about={permission}
      text={t.permissions.releaseText(permission)}
      word={permission}
      done={t.permissions.released}
    />
  )
}
