import type { Route, RouteRule } from '@gatehouse/client'
import { Code, Group, Text } from '@mantine/core'
import { Rows } from '../../../parts/table.tsx'
import { useTexts } from '../../../texts/settings.tsx'

interface RouteRulesProps {
  readonly label: string
  readonly rules: readonly Route[]
}

/** Rules in the order in which they are compared. */
export function RouteRules({ label, rules }: RouteRulesProps) {
  const t = useTexts()
  const isDeclared = rules.some(({ position }) => position !== undefined)
  return (
    <Rows
      label={label}
      rows={rules}
      keyOf={(rule) => `${rule.position ?? ''} ${rule.path} ${rule.methods?.join() ?? ''}`}
      columns={[
        ...(isDeclared ? [{ label: t.routes.position, render: (rule: Route) => rule.position }] : []),
        { label: t.routes.path, render: (rule) => <Code>{rule.path}</Code> },
        { label: t.routes.methods, render: ({ methods }) => methods?.join(', ') ?? t.routes.everyMethod },
        { label: t.routes.requires, render: (rule) => <Requirements rule={rule} /> },
        { label: t.routes.limits, render: (rule) => <PoliciesOf rule={rule} /> },
        { label: t.routes.to, render: ({ upstream }) => upstream ?? <span className="dim">{t.routes.gatehouse}</span> },
      ]}
    />
  )
}

/** What a rule requires of a caller, in words. */
export function Requirements({ rule }: { rule: RouteRule }) {
  const t = useTexts()
  const { scope, roles, require_acr: acr, max_age_seconds: maxAge } = rule
  if (rule.public) return t.routes.public
  const lines = [
    ...(scope === undefined ? [] : [[t.routes.scope, scope] as const]),
    ...(roles === undefined ? [] : [[t.routes.roles, roles.join(', ')] as const]),
    ...(acr === undefined ? [] : [[t.routes.acr, acr] as const]),
    ...(maxAge === undefined ? [] : [[t.routes.maxAge, t.callers.seconds(maxAge)] as const]),
  ]
  if (lines.length === 0) return rule.upstream === undefined ? t.routes.byService : t.routes.anyCaller
  return lines.map(([name, value]) => (
    <Text size="sm" key={name}>
      <span className="dim">{name}</span> {value}
    </Text>
  ))
}

/** By what requests of a rule are counted. */
export function PoliciesOf({ rule: { policy, tier, producers, public: isPublic } }: { rule: RouteRule }) {
  const t = useTexts()
  if (policy === 'none') return <span className="dim">{t.routes.unlimited}</span>
  return (
    <Group gap={4}>
      {tier && <span>{isPublic ? t.routes.anonymous : t.routes.tier}</span>}
      {tier && policy !== undefined && '+'}
      {policy !== undefined && <Code>{policy}</Code>}
      {producers !== undefined && <Text size="sm">{t.routes.producers(producers)}</Text>}
    </Group>
  )
}
