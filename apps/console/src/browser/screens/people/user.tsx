import type { User } from '@gatehouse/client'
import { Tabs } from '@mantine/core'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useFilters } from '../../api/filters.ts'
import { useRead } from '../../api/queries.ts'
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

/** One user: what the account is, where it is signed in, who has access, and what happened to it. */
export function UserScreen() {
  const t = useTexts()
  const may = useMay()
  const { id } = useParams({ strict: false }) as { id: string }
  const [{ tab: chosen }, open] = useFilters(['tab'])
  const query = useRead('readUser', { id })
  const shown = tabs.filter((name) => name !== 'audit' || may('readAudit'))
  const tab = shown.find((name) => name === chosen) ?? 'summary'
  return (
    <Page title={id} actions={query.data === undefined ? undefined : <UserActions user={query.data} />}>
      <Answer action="readUser" query={query}>
        {(user) => (
          <Tabs value={tab} onChange={(next) => open({ tab: next ?? 'summary' })} keepMounted={false}>
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
  return (
    <>
      {email !== undefined && (
        <Act action="mailUser" input={{ id, kind: 'reset' }} label={t.user.resetMail} done={t.user.mailed} />
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
    </>
  )
}
