import { Tabs } from '@mantine/core'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useRead } from '../../api/queries.ts'
import type { User } from '../../api/records.ts'
import { useMay } from '../../api/session.tsx'
import { Act } from '../../parts/act.tsx'
import { Page } from '../../parts/page.tsx'
import { Answer } from '../../parts/states.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { AuditList } from '../operate/audit-list.tsx'
import { UserAccess } from './user-access.tsx'
import { UserFactors } from './user-factors.tsx'
import { UserSessions } from './user-sessions.tsx'
import { UserSummary } from './user-summary.tsx'

const tabs = ['summary', 'sessions', 'access', 'factors', 'audit'] as const
type Tab = (typeof tabs)[number]

/** The tab in the address. */
export function readUserTab({ tab }: Record<string, unknown>): { tab?: Tab } {
  return tabs.includes(tab as Tab) ? { tab: tab as Tab } : {}
}

/** One user: what the account is, where it is signed in, who has access, and what happened to it. */
export function UserScreen() {
  const t = useTexts()
  const may = useMay()
  const navigate = useNavigate()
  const { id } = useParams({ strict: false }) as { id: string }
  const { tab = 'summary' } = useSearch({ strict: false }) as { tab?: Tab }
  const query = useRead<User>('readUser', { params: { id } })
  const shown = tabs.filter((name) => name !== 'audit' || may('readAudit'))
  return (
    <Page title={id} actions={query.data === undefined ? undefined : <UserActions user={query.data} />}>
      <Answer action="readUser" query={query}>
        {(user) => (
          <Tabs
            value={tab}
            onChange={(next) => void navigate({ to: '/users/$id', params: { id }, search: readUserTab({ tab: next }) })}
            keepMounted={false}
          >
            <Tabs.List mb="md">
              {shown.map((name) => (
                <Tabs.Tab key={name} value={name}>
                  {t.user[name]}
                </Tabs.Tab>
              ))}
            </Tabs.List>
            <Tabs.Panel value="summary">
              <UserSummary user={user} />
            </Tabs.Panel>
            <Tabs.Panel value="sessions">
              <UserSessions id={id} />
            </Tabs.Panel>
            <Tabs.Panel value="access">
              <UserAccess id={id} />
            </Tabs.Panel>
            <Tabs.Panel value="factors">
              <UserFactors id={id} />
            </Tabs.Panel>
            <Tabs.Panel value="audit">
              <AuditList filters={{ subject: id }} />
            </Tabs.Panel>
          </Tabs>
        )}
      </Answer>
    </Page>
  )
}

function UserActions({ user: { id, locked, email } }: { user: User }) {
  const t = useTexts()
  const navigate = useNavigate()
  const params = { id }
  return (
    <>
      {email !== undefined && (
        <Act
          action="mailUser"
          input={{ params, body: { kind: 'reset' } }}
          label={t.user.resetMail}
          done={t.user.mailed}
        />
      )}
      <Act
        key={locked ? 'unlock' : 'lock'}
        action="lockUser"
        input={{ params, body: { locked: !locked } }}
        label={locked ? t.user.unlock : t.user.lock}
        {...(locked ? {} : { text: t.user.lockText })}
        done={locked ? t.user.unlockedNow : t.user.lockedNow}
      />
      <Act
        action="deleteUser"
        input={{ params }}
        label={t.user.remove}
        text={t.user.removeText}
        word={id}
        done={t.user.removed}
        onDone={() => void navigate({ to: '/users' })}
      />
    </>
  )
}
