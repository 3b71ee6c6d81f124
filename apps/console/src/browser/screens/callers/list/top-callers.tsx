import { Code, Stack, Text } from '@mantine/core'
import { useRead } from '../../../api/queries.ts'
import { Answer, Empty } from '../../../parts/states.tsx'
import { Rows } from '../../../parts/table.tsx'
import { Time } from '../../../parts/values/values.tsx'
import { useSettings, useTexts } from '../../../texts/settings.tsx'
import { CallerLink } from '../caller-link.tsx'
import { Share } from '../share.tsx'
import { type CallerFilter, windows } from './caller-filters.tsx'

interface TopCallersProps {
  readonly by: 'rejected' | 'allowed'
  readonly filters: CallerFilter
}

/** The callers with the most rejected, or allowed, requests. */
export function TopCallers({ by, filters: { window: chosen, policy, kind, route } }: TopCallersProps) {
  const t = useTexts()
  const { settings } = useSettings()
  const number = new Intl.NumberFormat(settings.language)
  const window = windows.find((name) => name === chosen) ?? '1h'
  const query = useRead('listTopCallers', {
    by,
    window,
    ...(policy === undefined ? {} : { policy }),
    ...(kind === undefined ? {} : { kind }),
    ...(route === undefined ? {} : { route }),
  })
  const isNarrowed = [policy, kind, route].some((one) => one !== undefined)
  return (
    <Answer action="listTopCallers" query={query}>
      {({ items, error_bound: bound, from, scope }) => (
        <Stack gap="sm">
          {items.length === 0 ? (
            <Empty text={isNarrowed ? t.states.noMatch : t.callers.nobody[by]} />
          ) : (
            <Rows
              label={t.callers.tabs[by]}
              rows={items.map((item, rank) => ({ ...item, rank }))}
              keyOf={({ rank, kind: of, id }) => `${rank} ${of} ${id}`}
              columns={[
                { label: t.callers.caller, render: (row) => <CallerLink kind={row.kind} id={row.id} /> },
                { label: t.callers.policy, render: (row) => <Code>{row.policy}</Code> },
                { label: t.callers.rejected, render: (row) => number.format(row.rejected) },
                { label: t.callers.allowed, render: (row) => number.format(row.allowed) },
                { label: t.callers.share, render: (row) => <Share rejected={row.rejected} allowed={row.allowed} /> },
                { label: t.callers.last, render: (row) => <Time at={row.last_at} /> },
              ]}
            />
          )}
          <Text size="xs" c="dimmed">
            {t.callers.countedFrom} <Time at={from} />. {scope === 'process' && `${t.callers.oneProcess} `}
            {bound > 0 && t.callers.bound(number.format(bound))}
          </Text>
        </Stack>
      )}
    </Answer>
  )
}
