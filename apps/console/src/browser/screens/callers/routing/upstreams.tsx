import type { Upstream } from '@gatehouse/client'
import { Stack, Text } from '@mantine/core'
import { useRead } from '../../../api/queries.ts'
import { Answer, Empty } from '../../../parts/states.tsx'
import { Rows } from '../../../parts/table.tsx'
import { State, Time } from '../../../parts/values/values.tsx'
import { useSettings, useTexts } from '../../../texts/settings.tsx'

/** The upstreams: whether they answer, how fast, and what failed last. */
export function Upstreams() {
  const t = useTexts()
  const { settings } = useSettings()
  const number = new Intl.NumberFormat(settings.language)
  const query = useRead('listUpstreams')
  return (
    <Answer action="listUpstreams" query={query}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty text={t.routes.noUpstreams} />
        ) : (
          <Stack gap="xs">
            <Rows
              label={t.routes.upstreams}
              rows={items}
              keyOf={({ name }) => name}
              columns={[
                {
                  label: t.routes.name,
                  render: ({ name, url }) => (
                    <>
                      <Text fw={600} size="sm">
                        {name}
                      </Text>
                      <Text size="xs" c="dimmed">
                        {url}
                      </Text>
                    </>
                  ),
                },
                { label: t.routes.state, render: (upstream) => <Health upstream={upstream} /> },
                {
                  label: t.routes.calls,
                  render: ({ calls, failures }) =>
                    `${number.format(calls)}${failures > 0 ? ` · ${t.routes.failed(number.format(failures))}` : ''}`,
                },
                { label: t.routes.latency, render: ({ p50_ms: p50, p95_ms: p95 }) => latency(number, p50, p95) },
                {
                  label: t.routes.connections,
                  render: ({ connections: { open, running, waiting } }) => t.routes.pool(open, running, waiting),
                },
                {
                  label: t.routes.lastFailure,
                  render: ({ last_failure: failure }) =>
                    failure && (
                      <>
                        <Time at={failure.at} /> <span className="dim">{failure.message}</span>
                      </>
                    ),
                },
              ]}
            />
            <Text size="xs" c="dimmed">
              {t.routes.figures}
            </Text>
          </Stack>
        )
      }
    </Answer>
  )
}

function latency(number: Intl.NumberFormat, p50: number | undefined, p95: number | undefined): string | null {
  return p50 === undefined || p95 === undefined ? null : `${number.format(p50)} / ${number.format(p95)} ms`
}

function Health({ upstream }: { upstream: Upstream }) {
  const t = useTexts()
  const { breaker, calls, unavailable_since: since, retry_in_seconds: retry } = upstream
  if (breaker === 'closed')
    return calls === 0 ? <State tone="neutral">{t.routes.unused}</State> : <State tone="good">{t.routes.answers}</State>
  return (
    <>
      <State tone={breaker === 'open' ? 'bad' : 'careful'}>
        {breaker === 'open' ? t.routes.open : t.routes.probing}
      </State>
      <Text size="xs" c="dimmed">
        {t.callers.since} <Time at={since} />
        {retry === undefined || retry === 0 ? '' : ` · ${t.routes.retry(retry)}`}
      </Text>
    </>
  )
}
