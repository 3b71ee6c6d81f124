import type { User } from '@gatehouse/client'
import { Button, Group, NumberInput, Stack, Text, Title } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useAction, useRead } from '../../../api/queries.ts'
import { useMay } from '../../../api/session.tsx'
import { Refusal } from '../../../parts/changes/refusal.tsx'
import { Answer } from '../../../parts/states.tsx'
import { State } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { Bar } from './standing.tsx'

/** How close a user is to the limits of their tier, and how to give requests back. */
export function UserLimits({ id, user }: { id: string; user: User | undefined }) {
  const t = useTexts()
  const may = useMay()
  const settings = useRead('readUserTiers')
  return (
    <Stack>
      <Answer action="readUserTiers" query={settings}>
        {({ tiers, lowest }) => {
          const tier = tiers.find(({ name }) => name === user?.plan)?.name ?? lowest
          return <TierStanding id={id} tier={tier} title={t.user.tier(tier)} />
        }}
      </Answer>
      {may('readCaller') && (
        <Link to="/limits/callers/$kind/$id" params={{ kind: 'user', id }}>
          {t.user.everyLimit}
        </Link>
      )}
    </Stack>
  )
}

function TierStanding({ id, tier, title }: { id: string; tier: string; title: string }) {
  const t = useTexts()
  const may = useMay()
  const query = useRead('readUserLimit', { policy: tier, kind: 'user', id })
  return (
    <Stack component="section" className="panel" aria-label={title} maw={640}>
      <Title order={2}>{title}</Title>
      <Answer action="readUserLimit" query={query}>
        {({ allowed, rules, retry_after: seconds }) => (
          <Stack gap="sm">
            <Group>
              <State tone={allowed ? 'good' : 'bad'}>{allowed ? t.user.mayCall : t.user.limited(seconds)}</State>
            </Group>
            {rules.map((rule) => (
              <Bar
                key={`${rule.policy} ${rule.name}`}
                label={rule.shadow ? `${rule.name} (${t.user.shadow})` : rule.name}
                used={rule.limit - rule.remaining}
                limit={rule.limit}
                resetsAt={new Date(rule.reset * 1000).toISOString()}
              />
            ))}
          </Stack>
        )}
      </Answer>
      {may('grantRequestsToUser') && <GrantMore policy={tier} id={id} />}
    </Stack>
  )
}

function GrantMore({ policy, id }: { policy: string; id: string }) {
  const t = useTexts()
  const [amount, setAmount] = useState<number | string>(100)
  const mutation = useAction('grantRequestsToUser')
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        mutation.mutate(
          { policy, kind: 'user', id, amount: Number(amount) },
          { onSuccess: () => void notifications.show({ message: t.user.grantedMore, color: 'green' }) },
        )
      }}
    >
      <Group align="flex-end" gap="xs">
        <NumberInput label={t.user.grantAmount} value={amount} onChange={setAmount} min={1} max={100_000} w={170} />
        <Button type="submit" variant="default" loading={mutation.isPending}>
          {t.user.grantMore}
        </Button>
      </Group>
      <Text size="xs" c="dimmed" mt={4}>
        {t.user.grantText}
      </Text>
      <Refusal error={mutation.error} />
    </form>
  )
}
