import type { Provider } from '@gatehouse/client'
import { Alert, Code, Group, Stack, Text, Title } from '@mantine/core'
import { Link, useParams } from '@tanstack/react-router'
import { useFilters } from '../../../api/filters.ts'
import { useMay } from '../../../api/session.tsx'
import { Page } from '../../../parts/page.tsx'
import { Answer, Empty } from '../../../parts/states.tsx'
import { Rows } from '../../../parts/table.tsx'
import { SmsFailure } from '../../../parts/values/sms-failure.tsx'
import { Facts, Id, Time } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { usePolled } from '../polled.ts'
import { wordOf } from '../words.ts'
import { ProviderPause } from './provider-pause.tsx'
import { ProviderStateBadge, shareOf } from './provider-state.tsx'
import { ProviderTest } from './provider-test.tsx'
import { WebhookSteps } from './webhook-steps.tsx'

const everyMs = 5_000

/** One provider: whether it is called, what it did in the last hour, what it reports. */
export function ProviderScreen() {
  const t = useTexts()
  const { name } = useParams({ strict: false }) as { name: string }
  const [{ channel }] = useFilters(['channel'])
  const query = usePolled('listProviders', { limit: 200 }, () => everyMs)
  return (
    <Page title={name}>
      <Answer action="listProviders" query={query}>
        {({ items }) => {
          const named = items.filter((each) => each.name === name)
          const provider = named.find((each) => each.channel === channel) ?? named[0]
          return provider === undefined ? (
            <Empty text={t.states.notFound} />
          ) : (
            <ProviderParts provider={provider} key={provider.channel} />
          )
        }}
      </Answer>
    </Page>
  )
}

function ProviderParts({ provider }: { provider: Provider }) {
  const t = useTexts()
  const may = useMay()
  const { name, channel, place, state, kind, credentials, problem } = provider
  return (
    <Stack gap="lg">
      <Stack className="panel marked" gap="sm">
        <Group justify="space-between">
          <ProviderStateBadge provider={provider} />
          <ProviderPause provider={provider} />
        </Group>
        <Text size="sm">{wordOf(t.providers.stateHelp, state)}</Text>
        {state === 'misconfigured' && (
          <Alert color="red" title={t.providers.problem}>
            <Text size="sm">{problem}</Text>
            {credentials !== undefined && <Text size="sm">{t.providers.correct(credentials)}</Text>}
          </Alert>
        )}
        <Facts
          facts={[
            [t.providers.channel, channel],
            [t.providers.place, place],
            [t.providers.kind, kind],
            [t.providers.credentials, credentials && <Code key="credentials">{credentials}</Code>],
          ]}
        />
      </Stack>
      <Calls provider={provider} />
      <Errors provider={provider} />
      <Reports provider={provider} />
      {may('testProvider') && channel !== 'in-app' && <ProviderTest name={name} channel={channel} />}
      <Link to="/dead-letters" search={{ provider: name, by: 'fingerprint' }}>
        {t.providers.letters}
      </Link>
    </Stack>
  )
}

function Calls({ provider }: { provider: Provider }) {
  const t = useTexts()
  const { calls, failures, rejections, p50_ms: p50, p95_ms: p95 } = provider
  return (
    <div className="panel">
      <Facts
        facts={[
          [t.providers.calls, calls],
          [t.providers.failures, failures],
          [t.providers.share, shareOf(provider)],
          [t.providers.rejections, rejections],
          [t.providers.duration, p50 === undefined ? undefined : `${p50} ms`],
          [t.providers.slow, p95 === undefined ? undefined : `${p95} ms`],
        ]}
      />
    </div>
  )
}

function Errors({ provider: { errors } }: { provider: Provider }) {
  const t = useTexts()
  return (
    <Stack component="section" gap="sm" aria-labelledby="errors">
      <Title order={2} id="errors">
        {t.providers.errors}
      </Title>
      {errors.length === 0 ? (
        <Text c="dimmed" size="sm">
          {t.providers.noErrors}
        </Text>
      ) : (
        <Rows
          label={t.providers.errors}
          rows={errors}
          keyOf={({ fingerprint }) => fingerprint}
          columns={[
            { label: t.providers.result, render: ({ result }) => <Code>{result}</Code> },
            { label: t.providers.count, render: ({ count }) => <strong>{count}</strong> },
            {
              label: t.providers.sample,
              render: ({ sample }) => (
                <>
                  {sample}
                  <SmsFailure answer={sample} />
                </>
              ),
            },
            { label: t.providers.first, render: ({ first_at }) => <Time at={first_at} /> },
            { label: t.providers.last, render: ({ last_at }) => <Time at={last_at} /> },
          ]}
        />
      )}
    </Stack>
  )
}

function Reports({ provider: { webhook, kind } }: { provider: Provider }) {
  const t = useTexts()
  return (
    <Stack component="section" gap="sm" aria-labelledby="reports" className="panel">
      <Title order={2} id="reports">
        {t.providers.webhook}
      </Title>
      {webhook === undefined ? (
        <Text size="sm">{t.providers.noWebhook}</Text>
      ) : (
        <>
          {webhook.last_at === undefined && <Alert color="yellow">{t.providers.noReportYet}</Alert>}
          <Facts
            facts={[
              [t.providers.webhookUrl, <Id key="path" value={webhook.path} />],
              [
                t.providers.lastReport,
                webhook.last_at === undefined ? t.providers.never : <Time key="last" at={webhook.last_at} />,
              ],
              [t.providers.refused, webhook.refused],
              [t.providers.refusedAt, webhook.refused_at && <Time key="refused" at={webhook.refused_at} />],
              [t.providers.refusal, webhook.refusal],
              [t.providers.unverified, webhook.unverified],
              [t.providers.unverifiedAt, webhook.unverified_at && <Time key="unverified" at={webhook.unverified_at} />],
              [t.providers.unverifiedReason, webhook.unverified_reason],
            ]}
          />
          <WebhookSteps kind={kind} path={webhook.path} isOpen={webhook.last_at === undefined} />
        </>
      )}
    </Stack>
  )
}
