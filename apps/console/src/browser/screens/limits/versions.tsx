import { Button, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { usePages, useRead } from '../../api/queries.ts'
import { useVersioned } from '../../api/versioned.ts'
import { Act } from '../../parts/changes/act.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Answer, Empty } from '../../parts/states.tsx'
import { List } from '../../parts/table.tsx'
import { State, Time } from '../../parts/values/values.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { differencesOf } from './declaration.ts'
import { Differences } from './differences.tsx'

/** Every version, the newest first: who made it, why, and what it changed; an earlier one can be activated again. */
export function Versions({ active }: { active: number }) {
  const t = useTexts()
  const [shown, setShown] = useState<number>()
  const query = usePages('listLimitVersions')
  const settings = useVersioned('readLimitSettings', {}).data
  return (
    <>
      <List
        action="listLimitVersions"
        query={query}
        label={t.limits.tabs.versions}
        keyOf={({ version }) => String(version)}
        empty={<Empty text={t.versions.empty} />}
        columns={[
          {
            label: t.versions.version,
            render: ({ version }) => (
              <>
                {version} {version === active && <State tone="good">{t.versions.current}</State>}
              </>
            ),
          },
          { label: t.versions.when, render: (one) => <Time at={one.created_at} /> },
          { label: t.versions.author, render: ({ author }) => author },
          {
            label: t.versions.origin,
            render: ({ origin, restored }) => (
              <>
                {t.limits.origins[origin as 'file' | 'edit' | 'rollback']}
                {restored !== undefined && ` ${t.versions.restored(restored)}`}
              </>
            ),
          },
          { label: t.versions.comment, render: ({ comment }) => comment },
          {
            label: t.common.actions,
            isAction: true,
            render: ({ version }) => (
              <>
                <Button
                  size="xs"
                  variant="default"
                  aria-label={`${t.versions.show}: ${version}`}
                  onClick={() => setShown(version)}
                >
                  {t.versions.show}
                </Button>
                {version !== active && (
                  <Act
                    action="activateLimits"
                    input={{ version }}
                    shown={settings && { value: { version: settings.value.version }, etag: settings.etag }}
                    label={t.versions.activate}
                    about={t.limits.active(version)}
                    text={t.versions.activateText}
                    done={t.versions.activated}
                  />
                )}
              </>
            ),
          },
        ]}
      />
      <Dialog
        title={shown === undefined ? '' : t.versions.difference(shown)}
        open={shown !== undefined}
        close={() => setShown(undefined)}
      >
        {shown !== undefined && <Changes version={shown} />}
      </Dialog>
    </>
  )
}

/** What a version changed in the one before it. */
function Changes({ version }: { version: number }) {
  const t = useTexts()
  const after = useRead('readLimitVersion', { version })
  const before = useRead('readLimitVersion', { version: version - 1 }, version > 1)
  if (version === 1) return <Text>{t.versions.first}</Text>
  const limitsOf = ({ tiers, policies, global_policy }: NonNullable<typeof after.data>) => ({
    tiers,
    policies,
    global_policy,
  })
  return (
    <Answer action="readLimitVersion" query={before}>
      {(old) => (
        <Answer action="readLimitVersion" query={after}>
          {(fresh) => {
            const [one, other] = [limitsOf(old), limitsOf(fresh)]
            if (differencesOf(one, other).length === 0) return <Text>{t.versions.noDifference}</Text>
            return (
              <Stack>
                <Differences
                  before={one}
                  after={other}
                  names={[t.limits.active(version - 1), t.limits.active(version)]}
                  label={t.versions.changes}
                />
              </Stack>
            )
          }}
        </Answer>
      )}
    </Answer>
  )
}
