        if (ii < rows) {
            if (jj < cols) mirror[(size_t)jj * rows + ii] = sum[m][n][h * 2];
            if (jj + 1u < cols) mirror[(size_t)(jj + 1u) * rows + ii] = sum[m][n][h * 2 + 1];
        }
