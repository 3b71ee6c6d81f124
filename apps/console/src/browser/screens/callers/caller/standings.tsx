import type { LimitedCaller, PolicyStanding } from '@gatehouse/client'
import { Code, Group, Progress, Stack, Text, Title } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useSession } from '../../../api/session.tsx'
import { Act } from '../../../parts/changes/act.tsx'
import { State, Time } from '../../../parts/values/values.tsx'
import { useSettings, useTexts } from '../../../texts/settings.tsx'
import { useWait } from '../wait.ts'
import { CounterKeys } from './counter-keys.tsx'
import { GrantRequests } from './grant-requests.tsx'
import { mayReset } from './owners-limits.ts'

interface StandingsProps {
  readonly caller: LimitedCaller
  readonly kind: string
  readonly id: string
}

/** The standing of a caller under each policy; those that counted nothing lately are folded away. */
export function Standings({ caller: { policies }, kind, id }: StandingsProps) {
  const t = useTexts()
  const isShown = (one: PolicyStanding) => one.recent || one.is_tier || one.stands_for_tier || !one.allowed
  const shown = policies.filter(isShown)
  const others = policies.filter((one) => !isShown(one))
  return (
    <Stack gap="sm">
      {shown.map((standing) => (
        <Standing key={standing.policy} standing={standing} kind={kind} id={id} />
      ))}
      {shown.length === 0 && <Text c="dimmed">{t.callers.noStanding}</Text>}
      {others.length > 0 && (
        <details>
          <summary>{t.callers.others(others.length)}</summary>
          <Stack gap="sm" mt="sm">
            {others.map((standing) => (
              <Standing key={standing.policy} standing={standing} kind={kind} id={id} />
            ))}
          </Stack>
        </details>
      )}
    </Stack>
  )
}

interface StandingProps {
  readonly standing: PolicyStanding
  readonly kind: string
  readonly id: string
}

function Standing({ standing, kind, id }: StandingProps) {
  const t = useTexts()
  const { policy, is_tier: isTier, shared, allowed, retry_after: seconds, source, rules } = standing
  const input = { policy, kind, id }
  const wait = useWait()
  const { scopes } = useSession()
  return (
    <section className="panel standing" aria-label={policy}>
      <Group justify="space-between" align="flex-start" gap="sm">
        <Group gap="xs">
          <Title order={2} size="h4">
            {policy}
          </Title>
          <Text size="sm" c="dimmed">
            {kindOf(standing, t.callers)}
          </Text>
          {allowed ? (
            <State tone="good">{t.callers.admitted}</State>
          ) : (
            <State tone="bad">{t.callers.blocked(wait(seconds))}</State>
          )}
          {source !== 'store' && (
            <State tone="careful">{t.callers.sources[source as keyof typeof t.callers.sources] ?? source}</State>
          )}
        </Group>
        {mayReset(standing, scopes) && (
          <Group gap="xs">
            <GrantRequests input={input} />
            <Act
              action="resetLimit"
              input={input}
              label={t.callers.reset}
              about={policy}
              text={shared ? t.callers.resetShared(policy) : t.callers.resetText(policy)}
              done={t.callers.resetDone}
            />
          </Group>
        )}
      </Group>
      <div className="rules-of">
        {rules.map((rule) => (
          <RuleBar key={rule.name} rule={rule} />
        ))}
      </div>
      <Group gap="md" mt="xs">
        <Link to={`/limits/${isTier ? 'tiers' : 'policies'}/$name`} params={{ name: policy }} search={{ kind, id }}>
          {t.callers.simulate}
        </Link>
      </Group>
      <CounterKeys input={input} />
    </section>
  )
}

type Words = Readonly<Record<'isTier' | 'inPlaceOfTier' | 'isShared' | 'isPolicy', string>>

function kindOf({ is_tier: isTier, stands_for_tier: standsForTier, shared }: PolicyStanding, words: Words): string {
  if (isTier) return words.isTier
  if (standsForTier) return words.inPlaceOfTier
  return shared ? words.isShared : words.isPolicy
}

/** How much of a rule is used, and when it is there in full again. */
function RuleBar({ rule }: { rule: PolicyStanding['rules'][number] }) {
  const t = useTexts()
  const { settings } = useSettings()
  const number = new Intl.NumberFormat(settings.language)
  const { name, limit, remaining, reset, allowed, shadow, window_seconds: seconds } = rule
  const used = Math.min(100, Math.round((100 * (limit - remaining)) / limit))
  const left = t.callers.left(number.format(remaining), number.format(limit))
  const color = allowed ? (used >= 80 ? 'yellow' : 'brand') : 'red'
  return (
    <div>
      <Group justify="space-between" gap="xs" mb={4}>
        <span>
          <Code>{name}</Code>{' '}
          <Text span size="sm" c="dimmed">
            {t.callers.per(seconds)}
            {shadow ? ` · ${t.callers.isShadow}` : ''}
          </Text>
        </span>
        <Text size="sm">{left}</Text>
      </Group>
      <Progress value={used} color={color} aria-label={`${name}: ${left}`} size="md" />
      <Text size="xs" c="dimmed" mt={4}>
        {t.callers.resets} <Time at={new Date(reset * 1_000).toISOString()} />
      </Text>
    </div>
  )
}
