import type { LimitedCaller } from '@gatehouse/client'
import { Button, Code, Group, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { actions } from '../../../../actions/index.ts'
import { callOperation } from '../../../api/call.ts'
import { Page } from '../../../parts/page.tsx'
import { Answer } from '../../../parts/states.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { kindName } from '../caller-link.tsx'
import { isMasked, shortId } from '../identifier.ts'
import { Rejections } from '../rejections.tsx'
import { StoreNotice } from '../store-notice.tsx'
import { Minutes } from './minutes.tsx'
import { OwnLimit } from './own-limit.tsx'
import { Standings } from './standings.tsx'
import { Unblock } from './unblock.tsx'

/** One caller: how close to each limit, what it was refused, and what can be done about it. */
export function CallerScreen() {
  const t = useTexts()
  const { kind, id } = useParams({ strict: false }) as { kind: string; id: string }
  const [query, change] = useCaller(kind, id)
  const name = query.data === undefined ? shortId(id) : shortId(query.data.identifier.id)
  return (
    <Page
      title={name}
      lead={[kindName(t.callers.kinds, kind), limitOf(query.data, t.callers)]
        .filter((word) => word !== undefined)
        .join(' · ')}
      actions={
        <>
          {kind === 'user' && !isMasked(id, kind) && (
            <Button variant="default" component={Link} to={`/users/${encodeURIComponent(id)}`}>
              {t.callers.account}
            </Button>
          )}
          <Button variant="default" onClick={() => void query.refetch()} loading={query.isFetching}>
            {t.callers.refresh}
          </Button>
        </>
      }
    >
      <StoreNotice />
      <Answer action="readCaller" query={query}>
        {(caller) => (
          <Stack gap="lg">
            <Unblock caller={caller} kind={kind} id={id} />
            <Standings caller={caller} kind={kind} id={id} />
            <OwnLimit caller={caller} kind={kind} id={id} {...change} />
            <section aria-labelledby="minutes">
              <Title order={2} id="minutes" mb="xs">
                {t.callers.minutes}
              </Title>
              <Minutes minutes={caller.minutes} />
              {caller.scope === 'process' && (
                <Text size="xs" c="dimmed" mt={4}>
                  {t.callers.oneProcess}
                </Text>
              )}
            </section>
            <section aria-labelledby="rejections">
              <Title order={2} id="rejections" mb="xs">
                {t.callers.tabs.rejections}
              </Title>
              <Rejections filters={{ kind, id }} />
            </section>
            {id.length > shortId(id).length && (
              <Group gap="xs">
                <Text size="sm" c="dimmed">
                  {t.callers.fullId}
                </Text>
                <Code className="id">{caller.identifier.id}</Code>
              </Group>
            )}
          </Stack>
        )}
      </Answer>
    </Page>
  )
}

type Words = Readonly<Record<'tier' | 'hasPolicy', (name: string) => string>>

/** What limits a caller: the policy of a client, else the tier. */
function limitOf(caller: LimitedCaller | undefined, words: Words): string | undefined {
  const { client_policy: policy, tier } = caller ?? {}
  if (policy !== undefined) return words.hasPolicy(policy)
  return tier === undefined ? undefined : words.tier(tier)
}

/** How often a caller is read while a change of its limit is on its way to the gateway, in milliseconds. */
const awaitedMs = 1_000

/** A caller; after a change of its own limit it is read again until the gateway has it. */
function useCaller(kind: string, id: string) {
  const { operation } = actions.readCaller
  const [awaited, setAwaited] = useState<{ readonly until: string | undefined }>()
  const isAwaited = (override: { readonly until: string } | undefined) =>
    awaited !== undefined && override?.until !== awaited.until
  const query = useQuery({
    queryKey: [operation, { kind, id }],
    queryFn: async ({ signal }) => callOperation(operation, { kind, id }, { signal }),
    refetchInterval: ({ state }) => (isAwaited(state.data?.override) ? awaitedMs : false),
  })
  const onChange = (until: string | undefined) => setAwaited({ until })
  return [query, { onChange, isAwaited: isAwaited(query.data?.override) }] as const
}
