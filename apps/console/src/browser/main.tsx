import '@mantine/core/styles.css'
import '@mantine/notifications/styles.css'
import '@mantine/spotlight/styles.css'
import 'uplot/dist/uPlot.min.css'
import './app/style.css'
import './app/content.css'
import './screens/deliver/style.css'
import { MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { createQueries } from './api/queries.ts'
import { onSignedOut } from './api/session.tsx'
import { router } from './app/router.tsx'
import { theme } from './app/theme.ts'
import { Toasts } from './app/toasts.tsx'
import { SettingsProvider } from './texts/settings.tsx'

const element = document.getElementById('root')
if (element === null) throw new Error('the page has no #root')
const nonce = element.dataset.styleNonce ?? ''
// Where react-remove-scroll, which Mantine's dialogs lock the page with, looks for the nonce of its style element.
Object.assign(globalThis, { __webpack_nonce__: nonce })
const queries = createQueries(onSignedOut)

createRoot(element).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <SettingsProvider>
        <QueryClientProvider client={queries}>
          <Toasts />
          <RouterProvider router={router} />
        </QueryClientProvider>
      </SettingsProvider>
    </MantineProvider>
  </StrictMode>,
)
