import type { LimitedCaller } from '@gatehouse/client'
import { Button, Group, Stack, Text, Title } from '@mantine/core'
import { useState } from 'react'
import { useRead } from '../../../api/queries.ts'
import { useMay } from '../../../api/session.tsx'
import { useIsKept } from '../../../forms/record-form.ts'
import { Act } from '../../../parts/changes/act.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { State, Time } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { OverrideForm, overrideFormOf } from '../../limits/overrides/form.tsx'
import { useNumbers } from '../../limits/words.tsx'
import { isMasked } from '../identifier.ts'

interface OwnLimitProps {
  readonly caller: LimitedCaller
  readonly kind: string
  readonly id: string
  /** Told until when the caller has a limit of its own, once it is changed; gateways know it some seconds later. */
  readonly onChange: (until: string | undefined) => void
  /** Whether a change is on its way to the gateway. */
  readonly isAwaited: boolean
}

const kinds = new Set(['user', 'client', 'key', 'ip'])

/** The limit that a caller has in place of its tier, by whom, why and until when; it is set and ended here. */
export function OwnLimit({
  caller: { override, client_policy: clientPolicy },
  kind,
  id,
  onChange,
  isAwaited,
}: OwnLimitProps) {
  const t = useTexts()
  const may = useMay()
  const format = useNumbers()
  const isKept = useIsKept(overrideFormOf({ kind, id }))
  const [open, setOpen] = useState(isKept)
  const close = () => setOpen(false)
  const names = useRead('listPolicyNames', undefined, open).data
  const canSet = may('putOverride') && kinds.has(kind) && !isMasked(id, kind)
  if (override === undefined && clientPolicy === undefined && !canSet) return null
  return (
    <section className="panel" aria-label={t.callers.ownLimit}>
      <Group justify="space-between" align="flex-start" gap="sm">
        <Stack gap={4}>
          <Title order={2} size="h4">
            {t.callers.ownLimit}
          </Title>
          {clientPolicy !== undefined && <Text size="sm">{t.callers.clientPolicy(clientPolicy)}</Text>}
          {override === undefined ? (
            clientPolicy === undefined && (
              <Text size="sm" c="dimmed">
                {t.callers.noOwnLimit}
              </Text>
            )
          ) : (
            <>
              <Text>
                {override.factor === undefined
                  ? t.overrides.policy(override.policy ?? '')
                  : t.overrides.factor(format(override.factor))}{' '}
                {t.callers.until} <Time at={override.until} />
              </Text>
              <Text size="sm" c="dimmed">
                {override.author !== undefined && `${t.limits.by(override.author)}, `}
                <Time at={override.created_at} />
                {override.reason !== undefined && `: ${override.reason}`}
              </Text>
            </>
          )}
          <div aria-live="polite">{isAwaited && <State tone="careful">{t.callers.applies}</State>}</div>
        </Stack>
        {canSet && (
          <Group gap="xs">
            {override !== undefined && (
              <Act
                action="deleteOverride"
                input={{ kind, id }}
                label={t.overrides.end}
                text={t.overrides.endText}
                done={t.overrides.ended}
                onDone={() => onChange(undefined)}
              />
            )}
            <Button size="xs" variant="default" onClick={() => setOpen(true)}>
              {override === undefined ? t.callers.setOwnLimit : t.callers.changeOwnLimit}
            </Button>
          </Group>
        )}
      </Group>
      <Dialog title={t.overrides.create} open={open && names !== undefined} close={close}>
        {open && names !== undefined && (
          <OverrideForm
            names={[...names.tiers, ...names.policies].map(({ name }) => name)}
            caller={{ kind, id }}
            close={close}
            onSet={({ until }) => onChange(until)}
          />
        )}
      </Dialog>
    </section>
  )
}
