/* Radioactive decay, counted: reads "start rate" from standard input and prints the log-likelihood. */
#include <math.h>
#include <stdio.h>

int main(void) {
  const double times[] = {0, 1, 2, 4};
  const int counts[] = {52, 30, 21, 6};
  double start, rate, log_likelihood = 0;
  if (scanf("%lf %lf", &start, &rate) != 2) {
    fprintf(stderr, "expected two numbers\n");
    return 2;
  }
  if (rate > 3) {
    fprintf(stderr, "no convergence for rate = %g\n", rate); /* as simulators say it */
    return 1;
  }
  for (int k = 0; k < 4; ++k) {
    const double expected = start * exp(-rate * times[k]);
    log_likelihood += counts[k] * log(expected) - expected - lgamma(counts[k] + 1);
  }
  printf("reading done\n%.17g\n", log_likelihood);
  return 0;
}
