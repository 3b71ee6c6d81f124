import { PreconditionFailedError, type Provider } from '@gatehouse/client'
import { ActionIcon, Group, Stack, Text, Title, Tooltip } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { Link } from '@tanstack/react-router'
import { needsSignIn } from '../../../api/problem.ts'
import { useMay } from '../../../api/session.tsx'
import { SignInAgain } from '../../../parts/changes/sign-in-again.tsx'
import { Icon } from '../../../parts/icon.tsx'
import { Page } from '../../../parts/page.tsx'
import { Answer, Empty } from '../../../parts/states.tsx'
import { Rows } from '../../../parts/table.tsx'
import { Time } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { usePolled } from '../polled.ts'
import { type ProviderChannel, useProviderOrder } from './provider-changes.ts'
import { ProviderPause } from './provider-pause.tsx'
import { ProviderStateBadge, shareOf } from './provider-state.tsx'

const everyMs = 5_000

/** Who sends on each channel, in their order, and how it goes. */
export function ProvidersScreen() {
  const t = useTexts()
  const query = usePolled('listProviders', { limit: 200 }, () => everyMs)
  return (
    <Page title={t.sections.providers} lead={t.providers.lead}>
      <Answer action="listProviders" query={query}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty text={t.providers.empty} />
          ) : (
            [...Map.groupBy(items, ({ channel }) => channel)].map(([channel, providers]) => (
              <ChannelProviders key={channel} channel={channel} providers={providers} />
            ))
          )
        }
      </Answer>
    </Page>
  )
}

interface ChannelProps {
  readonly channel: Provider['channel']
  readonly providers: readonly Provider[]
}

function ChannelProviders({ channel, providers }: ChannelProps) {
  const t = useTexts()
  return (
    <Stack component="section" gap="sm" aria-label={channel}>
      <Title order={2}>{channel}</Title>
      <Rows
        label={channel}
        rows={providers}
        keyOf={({ name }) => name}
        columns={[
          { label: t.providers.place, render: ({ place }) => place },
          { label: t.providers.name, render: (provider) => <Name provider={provider} /> },
          { label: t.providers.state, render: (provider) => <ProviderStateBadge provider={provider} /> },
          { label: t.providers.calls, render: ({ calls }) => calls },
          { label: t.providers.share, render: (provider) => shareOf(provider) ?? <Dim text={t.providers.noCalls} /> },
          { label: t.providers.p50, render: ({ p50_ms: ms }) => ms !== undefined && `${ms} ms` },
          { label: t.providers.p95, render: ({ p95_ms: ms }) => ms !== undefined && `${ms} ms` },
          { label: t.providers.lastReport, render: (provider) => <LastReport provider={provider} /> },
          {
            label: t.common.actions,
            isAction: true,
            render: (provider) => (
              <>
                {providers.length > 1 && <Move provider={provider} providers={providers} />}
                <ProviderPause provider={provider} />
              </>
            ),
          },
        ]}
      />
    </Stack>
  )
}

function Dim({ text }: { text: string }) {
  return <span className="dim">{text}</span>
}

function Name({ provider: { name, channel, kind } }: { provider: Provider }) {
  return (
    <Group gap={6}>
      <Link to="/providers/$name" params={{ name }} search={{ channel }}>
        {name}
      </Link>
      {kind !== undefined && kind !== name && (
        <Text size="xs" c="dimmed">
          {kind}
        </Text>
      )}
    </Group>
  )
}

function LastReport({ provider: { webhook } }: { provider: Provider }) {
  const t = useTexts()
  if (webhook === undefined) return <Dim text="–" />
  return webhook.last_at === undefined ? <Dim text={t.providers.never} /> : <Time at={webhook.last_at} />
}

/** Moves a provider among those of its channel. Somebody else's change since it was read is not undone. */
function Move({
  provider: { name, channel, place },
  providers,
}: { provider: Provider } & Pick<ChannelProps, 'providers'>) {
  const t = useTexts()
  const may = useMay()
  const order = useProviderOrder(channel as ProviderChannel)
  if (!may('orderProviders')) return null
  const move = (by: -1 | 1) => {
    const names = providers.map((each) => each.name).filter((each) => each !== name)
    names.splice(place - 1 + by, 0, name)
    order.mutate(names, {
      onSuccess: () => notifications.show({ message: t.providers.moved, color: 'green' }),
      onError: (error) =>
        needsSignIn(error) ||
        notifications.show({
          message: error instanceof PreconditionFailedError ? t.providers.conflict : error.message,
          color: 'red',
        }),
    })
  }
  const button = (by: -1 | 1, label: string, icon: 'up' | 'down', isLast: boolean) => (
    <Tooltip label={label}>
      <ActionIcon
        variant="default"
        size={30}
        disabled={isLast || order.isPending}
        aria-label={`${label}: ${name}`}
        onClick={() => move(by)}
      >
        <Icon name={icon} size={16} />
      </ActionIcon>
    </Tooltip>
  )
  return (
    <>
      <SignInAgain error={order.error} close={() => order.reset()} />
      {button(-1, t.providers.up, 'up', place === 1)}
      {button(1, t.providers.down, 'down', place === providers.length)}
    </>
  )
}
