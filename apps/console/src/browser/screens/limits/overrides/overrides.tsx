import type { LimitSettings } from '@gatehouse/client'
import { Button, Group, Text } from '@mantine/core'
import { useState } from 'react'
import { usePages } from '../../../api/queries.ts'
import { useMay } from '../../../api/session.tsx'
import { useIsKept } from '../../../forms/record-form.ts'
import { Act } from '../../../parts/changes/act.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Empty } from '../../../parts/states.tsx'
import { List } from '../../../parts/table.tsx'
import { Time } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { CallerLink } from '../../callers/caller-link.tsx'
import { useNumbers } from '../words.tsx'
import { OverrideForm, overrideFormOf } from './form.tsx'

/** The tiers and policies that there are. */
const namesOf = ({ tiers, policies }: Pick<LimitSettings, 'tiers' | 'policies'>): string[] => [
  ...Object.keys(tiers),
  ...Object.keys(policies),
]

/** Callers with a limit of their own, until when and why. */
export function Overrides({ settings }: { settings: LimitSettings }) {
  const t = useTexts()
  const may = useMay()
  const format = useNumbers()
  const isKept = useIsKept(overrideFormOf())
  const [open, setOpen] = useState(isKept)
  const close = () => setOpen(false)
  const query = usePages('listOverrides')
  return (
    <>
      <Group justify="space-between" mb="sm">
        <Text size="sm" c="dimmed">
          {t.overrides.lead}
        </Text>
        {may('putOverride') && <Button onClick={() => setOpen(true)}>{t.overrides.create}</Button>}
      </Group>
      <List
        action="listOverrides"
        query={query}
        label={t.limits.tabs.overrides}
        keyOf={({ kind, id }) => `${kind} ${id}`}
        empty={<Empty text={t.overrides.empty} />}
        columns={[
          {
            label: t.overrides.caller,
            render: (caller) => <CallerLink {...caller} />,
          },
          {
            label: t.overrides.limit,
            render: ({ policy, factor }) =>
              factor === undefined ? t.overrides.policy(policy ?? '') : t.overrides.factor(format(factor)),
          },
          { label: t.overrides.until, render: ({ until }) => <Time at={until} /> },
          { label: t.overrides.reason, render: ({ reason }) => reason },
          { label: t.overrides.author, render: ({ author }) => author },
          {
            label: t.common.actions,
            isAction: true,
            render: ({ kind, id }) => (
              <Act
                action="deleteOverride"
                input={{ kind, id }}
                label={t.overrides.end}
                about={id}
                text={t.overrides.endText}
                done={t.overrides.ended}
              />
            ),
          },
        ]}
      />
      <Dialog title={t.overrides.create} open={open} close={close}>
        {open && <OverrideForm names={namesOf(settings)} close={close} />}
      </Dialog>
    </>
  )
}
