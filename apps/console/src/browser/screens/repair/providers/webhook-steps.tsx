import { Text } from '@mantine/core'
import { useTexts } from '../../../texts/settings.tsx'

interface WebhookStepsProps {
  readonly kind: string | undefined
  /** Where it reports. */
  readonly path: string
  /** Whether they are shown at once: nothing was reported yet. */
  readonly isOpen: boolean
}

/** How reports are switched on at a provider: its own name for them, where the address is entered, where the secret is. */
export function WebhookSteps({ kind = '', path, isOpen }: WebhookStepsProps) {
  const t = useTexts()
  const { webhookSteps, webhookSetUp } = t.providers
  if (!Object.hasOwn(webhookSteps, kind)) return null
  const { name, steps } = webhookSteps[kind as keyof typeof webhookSteps]
  return (
    <details open={isOpen}>
      <summary>{webhookSetUp(name)}</summary>
      <ol className="numbered">
        {steps(`BASE_URL${path}`).map((step) => (
          <li key={step}>
            <Text size="sm">{step}</Text>
          </li>
        ))}
      </ol>
    </details>
  )
}
