import { ApiError, type User } from '@gatehouse/client'
import { Alert, Group, Tabs } from '@mantine/core'
import { useNavigate, useParams } from '@tanstack/react-router'
import type { ComponentType } from 'react'
import type { ActionId } from '../../../../actions/index.ts'
import { useFilters } from '../../../api/filters.ts'
import { useRead } from '../../../api/queries.ts'
import { useMay, useSession } from '../../../api/session.tsx'
import { Act } from '../../../parts/changes/act.tsx'
import { Page } from '../../../parts/page.tsx'
import { Answer } from '../../../parts/states.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { AuditList } from '../../operate/audit-list.tsx'
import { UserData } from './data.tsx'
import { UserDevices } from './devices.tsx'
import { EditUser } from './edit.tsx'
import { UserLimits } from './limits.tsx'
import { UserNotifications } from './notifications.tsx'
import { UserPreferences } from './preferences.tsx'
import { UserFactors } from './sign-in/factors.tsx'
import { UserKeys } from './sign-in/keys.tsx'
import { UserSessions } from './sign-in/sessions.tsx'
import { UserSummary } from './summary.tsx'

/** What a tab shows of a user; without the account where identity knows none. */
interface TabProps {
  readonly id: string
  readonly user: User | undefined
}

interface UserTab {
  readonly name: (typeof names)[number]
  readonly action: ActionId
  readonly content: ComponentType<TabProps>
  /** Whether it needs an account. */
  readonly ofAccount?: boolean
}

const names = [
  'summary',
  'notifications',
  'preferences',
  'devices',
  'sessions',
  'factors',
  'keys',
  'limits',
  'audit',
  'data',
] as const

const tabs: readonly UserTab[] = [
  { name: 'summary', action: 'readUser', content: UserSummary },
  { name: 'notifications', action: 'listNotificationsOfUser', content: UserNotifications },
  { name: 'preferences', action: 'readChoices', content: UserPreferences },
  { name: 'devices', action: 'listDevices', content: UserDevices },
  { name: 'sessions', action: 'listSessions', content: UserSessions, ofAccount: true },
  { name: 'factors', action: 'readFactors', content: UserFactors, ofAccount: true },
  { name: 'keys', action: 'listApiKeys', content: UserKeys, ofAccount: true },
  { name: 'limits', action: 'readUserLimit', content: UserLimits },
  { name: 'audit', action: 'readAudit', content: ({ id }) => <AuditList filters={{ subject: id }} /> },
  { name: 'data', action: 'exportUserData', content: UserData },
]

/** One user, as the services know them together. */
export function UserScreen() {
  const t = useTexts()
  const may = useMay()
  const { id } = useParams({ strict: false }) as { id: string }
  const [{ tab: chosen }, open] = useFilters(['tab'])
  const query = useRead('readUser', { id })
  const isUnknown = query.error instanceof ApiError && query.error.status === 404
  const found = isUnknown ? { data: { user: undefined }, error: null } : { data: query.data && { user: query.data } }
  const user = isUnknown ? undefined : query.data
  const shown = tabs.filter(({ action, ofAccount }) => may(action) && !(ofAccount && isUnknown))
  const tab = shown.find(({ name }) => name === chosen)?.name ?? 'summary'
  return (
    <Page title={id} actions={user === undefined ? undefined : <UserActions user={user} />}>
      <Answer action="readUser" query={{ ...query, ...found } as typeof query & typeof found}>
        {() => (
          <>
            {isUnknown && <Alert color="yellow">{t.user.onlyRecipient}</Alert>}
            <Tabs value={tab} onChange={(next) => open({ tab: next ?? 'summary' })} keepMounted={false}>
              <Tabs.List mb="md">
                {shown.map(({ name }) => (
                  <Tabs.Tab key={name} value={name}>
                    {t.user[name]}
                  </Tabs.Tab>
                ))}
              </Tabs.List>
              {shown.map(({ name, content: Content }) => (
                <Tabs.Panel key={name} value={name}>
                  <Content id={id} user={user} />
                </Tabs.Panel>
              ))}
            </Tabs>
          </>
        )}
      </Answer>
    </Page>
  )
}

function UserActions({ user }: { user: User }) {
  const t = useTexts()
  const navigate = useNavigate()
  const { roles } = useSession()
  const { id, locked, email, email_verified: verified } = user
  const isAdministrator = user.roles.some((role) => role.startsWith('gatehouse-'))
  if (isAdministrator && !roles.includes('gatehouse-owner')) return <span className="dim">{t.user.ofOwners}</span>
  return (
    <Group gap="xs">
      <EditUser user={user} />
      {email !== undefined && !isAdministrator && (
        <Act action="mailUser" input={{ id, kind: 'reset' }} label={t.user.resetMail} done={t.user.mailed} />
      )}
      {email !== undefined && !verified && (
        <Act action="mailUser" input={{ id, kind: 'verify' }} label={t.user.verifyMail} done={t.user.mailed} />
      )}
      <Act
        key={locked ? 'unlock' : 'lock'}
        action="lockUser"
        input={{ id, locked: !locked }}
        label={locked ? t.user.unlock : t.user.lock}
        {...(locked ? {} : { text: t.user.lockText })}
        done={locked ? t.user.unlockedNow : t.user.lockedNow}
      />
      <Act
        action="deleteUser"
        input={{ id }}
        label={t.user.remove}
        text={t.user.removeText}
        word={id}
        done={t.user.removed}
        onDone={() => void navigate({ to: '/users' })}
      />
    </Group>
  )
}
